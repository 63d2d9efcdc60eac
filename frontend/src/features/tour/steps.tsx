/** The steps of the tour, in order. */
import type { ComponentType } from 'react'
import { useCommandContext } from '@/app/commandContext'
import { useRun } from '@/app/useCommand'
import { Button } from '@/components/ui/Button'
import { type Key, useT } from '@/lib/i18n'
import { NEW, readDraft, setDraft } from '@/stores/drafts'
import { useLive } from '@/stores/live'
import { openDialog } from '@/stores/ui'
import { shownThread } from '@/thread/loaded'
import { addLine, removeLine, saveSoul, useLine } from './soul'

interface StepProps {
  /** Shows the next step. */
  onDone: () => void
}

interface Step {
  title: Key
  Content: ComponentType
  Action: ComponentType<StepProps>
}

function Soul() {
  const t = useT()
  const line = t('tourSoulLine')
  return (
    <>
      <p className="text-fg-2">{t('tourSoulBody')}</p>
      <p className="rounded-md border bg-code px-2.5 py-1.5">{line}</p>
      <p role="status" className="text-fg-2 empty:hidden">
        {useLine(line) === 'unsaved' && t('tourSoulAdded')}
      </p>
    </>
  )
}

function AddLine({ onDone }: StepProps) {
  const t = useT()
  const line = t('tourSoulLine')
  const state = useLine(line)
  const saveLine = async () => {
    if (await saveSoul()) onDone()
  }
  if (state === 'saved') return null
  return state === 'absent' ? (
    <Button look="solid" onClick={() => void addLine(line)}>
      {t('tourSoulAdd')}
    </Button>
  ) : (
    <Button look="solid" onClick={() => void saveLine()}>
      {t('tourSoulSave')}
    </Button>
  )
}

const Ask = () => <p className="text-fg-2">{useT()('tourAskBody')}</p>

function WriteQuestion() {
  const t = useT()
  const run = useRun()
  const write = () => {
    if (readDraft(NEW) === '') setDraft(NEW, t('tourAskText'))
    run('newChat')
  }
  return (
    <Button look="solid" onClick={write}>
      {t('tourAskWrite')}
    </Button>
  )
}

/** The last work of the conversation that has an answer. */
function useLastWork(): string | null {
  const { sessionId } = useCommandContext()
  return useLive(({ threads }) => {
    const thread = sessionId === null ? null : shownThread(threads[sessionId])
    const answer = thread?.entries.findLast(entry => entry.kind === 'assistant')
    return answer?.kind === 'assistant' ? answer.workId : null
  })
}

const LookInside = () => (
  <p className="text-fg-2">{useT()(useLastWork() ? 'tourXrayBody' : 'tourXrayNone')}</p>
)

function OpenXray() {
  const t = useT()
  const work = useLastWork()
  const line = t('tourSoulLine')
  const there = useLine(line) !== 'absent'
  return (
    <>
      {work && (
        <Button look="solid" onClick={() => openDialog({ name: 'xray', work })}>
          {t('tourXrayOpen')}
        </Button>
      )}
      {there && <Button onClick={() => void removeLine(line)}>{t('tourSoulRemove')}</Button>}
    </>
  )
}

export const STEPS: readonly [Step, ...Step[]] = [
  { title: 'tourSoul', Content: Soul, Action: AddLine },
  { title: 'tourAsk', Content: Ask, Action: WriteQuestion },
  { title: 'tourXray', Content: LookInside, Action: OpenXray },
]
