import { BookOpen, MessagesSquare, SlidersHorizontal } from 'lucide-react'
import { useIndex, useStatus } from '@/api/queries'
import { switchRagConversations } from '@/app/recall'
import { useRun } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { Skeleton } from '@/components/ui/Skeleton'
import { Switch } from '@/components/ui/Switch'
import { EmbedderNote, isWithoutMeaning } from '@/features/retrieval/EmbedderNote'
import { useT } from '@/lib/i18n'
import { closeDialog } from '@/stores/ui'

/** Whether memory is retrieved for each message, and by what files are found. */
export function Memory() {
  const t = useT()
  const run = useRun()
  const status = useStatus().data
  const on = status?.rag_mode
  const index = useIndex().data
  const model = index?.model
  if (on === undefined) return <Skeleton label={t('loading')} />
  const openPlayground = () => {
    closeDialog()
    run('playground')
  }
  return (
    <div className="space-y-2 text-small">
      <div className="flex flex-wrap items-center gap-2">
        <Switch
          on={on}
          onChange={on => run(on ? 'ragOn' : 'ragOff')}
          icon={<BookOpen size={13} aria-hidden />}
        >
          {t('rag')}
        </Switch>
        <Button size="small" onClick={openPlayground}>
          <SlidersHorizontal size={13} aria-hidden />
          {t('playground')}
        </Button>
      </div>
      <p className="text-fg-2">{t('ragHint')}</p>
      {on && (
        <>
          <Switch
            on={status?.rag_conversations ?? false}
            onChange={on => void switchRagConversations(on)}
            icon={<MessagesSquare size={13} aria-hidden />}
          >
            {t('ragConversations')}
          </Switch>
          <p className="text-fg-2">{t('ragConversationsHint')}</p>
          {index?.conversations?.words_only && <p className="text-fg-2">{t('conversationsWithheld')}</p>}
        </>
      )}
      {model && (
        <p className="text-fg-2">
          {model.state === 'ready' && t('embedderReady', { model: model.id ?? '' })}
          {model.state === 'unloaded' && t('embedderUnloaded')}
          {isWithoutMeaning(model) && <EmbedderNote model={model} />}
        </p>
      )}
    </div>
  )
}
