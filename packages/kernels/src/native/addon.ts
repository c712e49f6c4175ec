/** The addon's exports, typed by hand to match native/addon. */
export interface NativeAddon {
  bestIsa(): string;
}
