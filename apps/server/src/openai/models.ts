import type { ServerContext } from '../http/context.js';
import type { ServedModel } from '../served-model.js';

function modelObject(model: ServedModel) {
  return { id: model.id, object: 'model', created: model.created, owned_by: 'dsi', max_model_len: model.maxModelLen };
}

/** GET /v1/models */
export function listModels(context: ServerContext): Response {
  context.models.assertReady();
  return Response.json({ object: 'list', data: context.models.list().map(modelObject) });
}

/** GET /v1/models/{id} */
export function getModel(id: string, context: ServerContext): Response {
  return Response.json(modelObject(context.models.find(id)));
}
