import { Plus } from 'lucide-react'
import { useId, useState } from 'react'
import { useSessionList } from '@/api/queries'
import { setLabels } from '@/app/threads'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'
import { Visible } from '@/components/Visible'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { allLabels } from './labels'

interface Props {
  session: string
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Gives a conversation labels: those that others have, or new ones. Each change applies at once. */
export default function LabelsDialog({ session, open, onOpenChange }: Props) {
  const t = useT()
  const id = useId()
  const labels = useSessionList().data?.labels ?? {}
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const own = labels[session] ?? []
  const change = async (next: readonly string[]) => setProblem(await setLabels(session, next))
  const add = () => {
    const label = text.trim()
    if (label === '') return
    setText('')
    void change([...own.filter(other => other !== label), label])
  }
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t('labels')}>
      <form
        className="flex gap-2 pt-1"
        onSubmit={event => {
          event.preventDefault()
          add()
        }}
      >
        <Input
          size="medium"
          aria-label={t('labelNew')}
          placeholder={t('labelNew')}
          maxLength={40}
          value={text}
          onChange={event => setText(event.target.value)}
          className="min-w-0 flex-1"
        />
        <Button type="submit" disabled={text.trim() === ''}>
          <Plus size={14} aria-hidden />
          {t('labelAdd')}
        </Button>
      </form>
      {problem && <ErrorText className="mt-2">{problem}</ErrorText>}
      <ul className="mt-3 space-y-0.5" aria-label={t('labels')}>
        {allLabels(labels).map((label, i) => (
          <li key={label}>
            <label
              htmlFor={`${id}${i}`}
              className="flex min-h-8 items-center gap-2 rounded-md px-1 text-[13px] hover:bg-hover pointer-coarse:min-h-11"
            >
              <input
                id={`${id}${i}`}
                type="checkbox"
                className="size-4 shrink-0 accent-(--accent)"
                checked={own.includes(label)}
                onChange={event =>
                  void change(event.target.checked ? [...own, label] : own.filter(other => other !== label))
                }
              />
              <span className="min-w-0 [overflow-wrap:anywhere]">
                <Visible text={label} />
              </span>
            </label>
          </li>
        ))}
      </ul>
    </Dialog>
  )
}
