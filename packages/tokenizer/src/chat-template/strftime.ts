import { ChatTemplateValueError } from './errors.js';

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** C's `strftime` in the C locale, in local time. */
export function strftime(date: Date, format: string): string {
  return format.replace(/%(-?)([a-zA-Z%])/g, (_all, dash: string, code: string) => {
    const text = directive(date, code);
    return dash === '-' ? text.replace(/^0+(?=\d)/, '') : text;
  });
}

function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0');
}

function directive(date: Date, code: string): string {
  const hours = date.getHours();
  switch (code) {
    case 'Y':
      return String(date.getFullYear());
    case 'y':
      return pad(date.getFullYear() % 100);
    case 'm':
      return pad(date.getMonth() + 1);
    case 'd':
      return pad(date.getDate());
    case 'e':
      return String(date.getDate()).padStart(2, ' ');
    case 'b':
    case 'h':
      return MONTHS[date.getMonth()]!.slice(0, 3);
    case 'B':
      return MONTHS[date.getMonth()]!;
    case 'a':
      return DAYS[date.getDay()]!.slice(0, 3);
    case 'A':
      return DAYS[date.getDay()]!;
    case 'H':
      return pad(hours);
    case 'I':
      return pad(hours % 12 === 0 ? 12 : hours % 12);
    case 'M':
      return pad(date.getMinutes());
    case 'S':
      return pad(date.getSeconds());
    case 'f':
      return pad(date.getMilliseconds() * 1000, 6);
    case 'p':
      return hours < 12 ? 'AM' : 'PM';
    case 'j':
      return pad(dayOfYear(date), 3);
    case 'w':
      return String(date.getDay());
    case 'u':
      return String(date.getDay() === 0 ? 7 : date.getDay());
    case 'F':
      return `${directive(date, 'Y')}-${directive(date, 'm')}-${directive(date, 'd')}`;
    case 'T':
    case 'X':
      return `${pad(hours)}:${directive(date, 'M')}:${directive(date, 'S')}`;
    case 'R':
      return `${pad(hours)}:${directive(date, 'M')}`;
    case 'D':
    case 'x':
      return `${directive(date, 'm')}/${directive(date, 'd')}/${directive(date, 'y')}`;
    case 'c':
      return `${directive(date, 'a')} ${directive(date, 'b')} ${directive(date, 'e')} ${directive(date, 'T')} ${directive(date, 'Y')}`;
    case 's':
      return String(Math.floor(date.getTime() / 1000));
    case 'n':
      return '\n';
    case 't':
      return '\t';
    case '%':
      return '%';
  }
  throw new ChatTemplateValueError(`strftime_now: the directive "%${code}" is not supported`);
}

function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getFullYear(), 0, 1);
  return Math.round((Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) - start) / 86_400_000) + 1;
}
