import { type FormEvent, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { useT } from '@/lib/i18n'
import { nameIn, renamed } from './names'

interface Props {
  path: string
  onOpenChange: (open: boolean) => void
  /** Answers why it could not be done, or null. */
  onRename: (to: string) => Promise<string | null>
}

export function RenameFile({ path, onOpenChange, onRename }: Props) {
  const t = useT()
  const [name, setName] = useState(nameIn(path))
  const [problem, setProblem] = useState<string | null>(null)
  const to = renamed(path, name)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (to === null) return setProblem(t('badName'))
    const reason = await onRename(to)
    if (reason === null) onOpenChange(false)
    else setProblem(reason)
  }
  return (
    <Dialog open onOpenChange={onOpenChange} title={t('renameFile', { path })}>
      <form onSubmit={submit} className="space-y-3">
        <label className="block text-[13px]">
          <span className="mb-1 block text-fg-2">{t('renameTo')}</span>
          <input
            value={name}
            onChange={event => {
              setName(event.target.value)
              setProblem(null)
            }}
            aria-invalid={problem !== null}
            aria-describedby={problem ? 'rename-problem' : undefined}
            className="h-9 w-full rounded-md border bg-card px-2.5 font-mono text-[13px] max-md:text-[16px]"
          />
        </label>
        {problem && (
          <p id="rename-problem" role="alert" className="text-bad text-small">
            {problem}
          </p>
        )}
        <div className="flex justify-end">
          <Button type="submit" look="solid" disabled={name.trim() === '' || to === path}>
            {t('rename')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
