import type { Effective } from '@/features/model/choice'
import type { Translate } from '@/lib/i18n'
import type { Blocked } from './Composer'

interface State {
  /** The server is unreachable, and nothing more can be queued. */
  offline: boolean
  /** No model is configured, and none is chosen for this conversation. */
  noModel: boolean
  /** The model that would answer; undefined until the list of models is loaded. */
  answers: Effective | undefined
  /** Pictures are attached. */
  pictures: boolean
}

interface Remedies {
  connect: () => void
  useDefault: () => void
}

/** Why a message cannot be sent at this moment, and what helps; null if it can. */
export function blockedBy(state: State, remedies: Remedies, t: Translate): Blocked | null {
  const { offline, noModel, answers, pictures } = state
  if (offline) return { reason: t('cannotSendOffline') }
  if (noModel)
    return { reason: t('cannotSendModel'), remedy: { words: t('modelConnect'), run: remedies.connect } }
  if (answers?.kind === 'gone')
    return {
      reason: t('cannotSendGone', { name: answers.id }),
      remedy: { words: t('modelUseDefault'), run: remedies.useDefault },
    }
  return pictures && answers?.candidate?.vision === false
    ? { reason: t('cannotSendPictures', { name: answers.candidate.label }) }
    : null
}
