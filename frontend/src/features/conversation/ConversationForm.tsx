import { ScanSearch } from 'lucide-react'
import { type FormEvent, useEffect, useId, useRef } from 'react'
import { useSessions } from '@/api/queries'
import type { Conversation } from '@/api/types'
import { useCommandContext } from '@/app/commandContext'
import { useRun } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { DialogActions } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { moment } from '@/lib/format'
import { locale, useLang, useT } from '@/lib/i18n'
import type { Thread } from '@/thread/model'
import { ConversationFields } from './ConversationFields'
import { useEdits } from './useEdits'
import type { Field } from './values'

interface Props {
  conversation: Conversation
  thread: Thread
  /** The person wants to close it while something is not saved. */
  leaving: boolean
  onUnsaved: (unsaved: boolean) => void
  onStay: () => void
  onLeave: () => void
}

export function ConversationForm({ conversation, thread, leaving, onUnsaved, onStay, onLeave }: Props) {
  const t = useT()
  const lang = useLang()
  const { sessionId } = useCommandContext()
  const run = useRun()
  const session = useSessions().data?.find(({ id }) => id === conversation.id)
  const edits = useEdits({ id: conversation.id, title: session?.title ?? conversation.title }, thread)
  const form = useRef<HTMLFormElement>(null)
  const id = useId()
  const unsaved = Object.keys(edits.edits).length > 0
  const running = thread.running !== null
  useEffect(() => onUnsaved(unsaved))
  const toField = (field: Field) => form.current?.querySelector<HTMLElement>(`[data-field=${field}]`)?.focus()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!edits.canSave) return
    const refused = await edits.save()
    if (refused) toField(refused)
  }
  const date = (text: string) => moment(Date.parse(text) / 1000, locale(lang))
  const { created_at, updated_at, message_count } = conversation
  const facts = { created: date(created_at), used: date(updated_at), n: message_count }
  return (
    <>
      <p className="mb-3 text-[13px] text-fg-2">
        {t('thisConversationHint')} {running && t('thisConversationRunning')}
      </p>
      <form ref={form} id={id} onSubmit={event => void submit(event)} className="space-y-3">
        <ConversationFields form={edits} running={running} begins={session?.begins} />
        <p className="text-fg-3 text-small">{t('conversationFacts', facts)}</p>
      </form>
      <DialogActions>
        {leaving ? (
          <>
            <p role="alert" className="me-auto text-[13px] text-warn">
              {t('conversationUnsaved')}
            </p>
            <Button autoFocus onClick={onStay}>
              {t('keepEditing')}
            </Button>
            <Button look="danger" onClick={onLeave}>
              {t('discardChanges')}
            </Button>
          </>
        ) : (
          <>
            {sessionId === conversation.id && (
              <Button
                look="ghost"
                className="me-auto"
                disabled={unsaved}
                title={unsaved ? t('xraySaveFirst') : undefined}
                onClick={() => run('xray')}
              >
                <ScanSearch size={15} aria-hidden />
                {t('xrayNext')}
              </Button>
            )}
            {edits.problemOf(null) && <ErrorText className="flex-1">{edits.problemOf(null)}</ErrorText>}
            <p role="status" className="text-fg-2 text-small">
              {edits.state === 'saved' && !unsaved && t('conversationSaved')}
            </p>
            {unsaved && <Button onClick={edits.discard}>{t('discardChanges')}</Button>}
            <Button type="submit" form={id} look="solid" disabled={!edits.canSave}>
              {t('save')}
            </Button>
          </>
        )}
      </DialogActions>
    </>
  )
}
