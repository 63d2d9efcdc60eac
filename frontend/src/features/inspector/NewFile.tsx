import { type FormEvent, useState } from 'react'
import type { Root } from '@/api/endpoints'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import type { Created } from '@/features/editor/actions'
import { useT } from '@/lib/i18n'
import { type Draft, draftOf } from './names'

interface Props {
  root: Root
  open: boolean
  onOpenChange: (open: boolean) => void
  onCreate: (draft: Draft) => Promise<Created>
}

export function NewFile({ root, open, onOpenChange, onCreate }: Props) {
  const t = useT()
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string | null>(null)
  const skill = root === 'skills'
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const draft = draftOf(root, name)
    if (!draft) return setProblem(t('badName'))
    const result = await onCreate(draft)
    if (result.kind === 'exists') return setProblem(t('exists'))
    if (result.kind === 'failed') return setProblem(t('notDone', { reason: result.reason }))
    setName('')
    setProblem(null)
    onOpenChange(false)
  }
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t(skill ? 'newSkill' : 'newFile')}>
      <form onSubmit={submit} className="space-y-3">
        <label className="block text-[13px]">
          <span className="mb-1 block text-fg-2">{t(skill ? 'newSkillName' : 'newFileName')}</span>
          <input
            value={name}
            onChange={event => {
              setName(event.target.value)
              setProblem(null)
            }}
            aria-invalid={problem !== null}
            aria-describedby={problem ? 'new-file-problem' : undefined}
            placeholder={skill ? 'my-skill' : `${root}/notes.md`.slice(root.length + 1)}
            className="h-9 w-full rounded-md border bg-card px-2.5 font-mono text-[13px] max-md:text-[16px]"
          />
        </label>
        {problem && (
          <p id="new-file-problem" role="alert" className="text-bad text-small">
            {problem}
          </p>
        )}
        <div className="flex justify-end">
          <Button type="submit" look="solid" disabled={name.trim() === ''}>
            {t('create')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
