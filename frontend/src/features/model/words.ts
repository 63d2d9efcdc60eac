import type { ModelStatus } from '@/api/types'
import type { Translate } from '@/lib/i18n'

export type Tone = 'ok' | 'busy' | 'warn' | 'bad'

/** The state of the model in words, and how serious it is. */
export function stateOf(model: ModelStatus, t: Translate): { words: string; tone: Tone } {
  switch (model.state) {
    case 'none':
      return { words: t('modelNone'), tone: 'bad' }
    case 'missing':
      return { words: t('modelMissing'), tone: 'bad' }
    case 'failed':
      return { words: t('modelFailed'), tone: 'bad' }
    case 'starting':
      return {
        words:
          model.progress == null
            ? t('modelStarting')
            : t('modelStartingAt', { n: Math.round(model.progress * 100) }),
        tone: 'busy',
      }
    case 'reading':
      return { words: t('modelReading', { n: Math.round((model.progress ?? 0) * 100) }), tone: 'busy' }
    case 'ready':
      return model.small ? { words: t('modelSmall'), tone: 'warn' } : { words: t('modelReady'), tone: 'ok' }
  }
}
