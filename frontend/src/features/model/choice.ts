/** The model choice of a conversation, and which of the available models it selects. */
import type { Chosen, ModelCandidate, Models } from '@/api/types'

/** A display name that distinguishes the models of one server. */
export const nameOf = ({ label, model, from }: ModelCandidate): string =>
  label.includes(model) || from === 'config.yml' ? label : `${label} ${model}`

/** Finds a model by its id, or by the part of the id before the address. */
const find = (models: Models, id: string): ModelCandidate | null =>
  models.available.find(candidate => candidate.id === id) ??
  models.available.find(candidate => candidate.id.split('@')[0] === id) ??
  null

export type Effective =
  | { kind: 'default'; candidate: ModelCandidate | null }
  | { kind: 'chosen'; candidate: ModelCandidate }
  /** The chosen model is unavailable. */
  | { kind: 'gone'; id: string }

export function effective(models: Models, { model }: Chosen): Effective {
  if (model) {
    const candidate = find(models, model)
    return candidate ? { kind: 'chosen', candidate } : { kind: 'gone', id: model }
  }
  return { kind: 'default', candidate: models.default_id ? find(models, models.default_id) : null }
}

/** Whether thinking can be switched for the model that would answer. */
export function canThink(models: Models, chosen: Chosen): boolean {
  const found = effective(models, chosen)
  return found.kind !== 'gone' && (found.candidate?.thinking ?? false)
}

/** Chooses a model. The choice for thinking is kept only if the new model has that switch. */
export function withModel(models: Models, chosen: Chosen, model: string | null): Chosen {
  const { thinking, ...rest } = { ...chosen, model }
  const next: Chosen = thinking == null ? rest : { ...rest, thinking }
  return canThink(models, next) ? next : rest
}
