/** What a conversation has chosen, and what that comes to with the models there are. */
import type { Chosen, ModelCandidate, Models } from '@/api/types'

/** A name for people, that tells apart models which one server has. */
export const nameOf = ({ label, model, from }: ModelCandidate): string =>
  label.includes(model) || from === 'config.yml' ? label : `${label} ${model}`

/** By the id, or by the part of it before the address. */
const find = (models: Models, id: string): ModelCandidate | null =>
  models.available.find(candidate => candidate.id === id) ??
  models.available.find(candidate => candidate.id.split('@')[0] === id) ??
  null

export type Effective =
  | { kind: 'default'; candidate: ModelCandidate | null }
  | { kind: 'chosen'; candidate: ModelCandidate }
  /** It was chosen, and is not there any more. */
  | { kind: 'gone'; id: string }

export function effective(models: Models, { model }: Chosen): Effective {
  if (model) {
    const candidate = find(models, model)
    return candidate ? { kind: 'chosen', candidate } : { kind: 'gone', id: model }
  }
  return { kind: 'default', candidate: models.default_id ? find(models, models.default_id) : null }
}

/** Whether the model that would answer can be told to think, or not to. */
export function canThink(models: Models, chosen: Chosen): boolean {
  const found = effective(models, chosen)
  return found.kind !== 'gone' && (found.candidate?.thinking ?? false)
}

/** Another model keeps the switch only where it has one. */
export function withModel(models: Models, chosen: Chosen, model: string | null): Chosen {
  const next: Chosen = { ...chosen, model }
  return canThink(models, next) ? next : { model }
}
