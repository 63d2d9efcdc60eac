import { type FormEvent, useId, useState } from 'react'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { ErrorText } from '@/components/ui/ErrorText'
import { Input } from '@/components/ui/Input'

interface Props {
  title: string
  label: string
  /** The initial text of the field. */
  initial?: string
  placeholder?: string
  button: string
  /** Whether a name would change anything. */
  useful: (name: string) => boolean
  /** Resolves to null on success, else to the reason. */
  onName: (name: string) => Promise<string | null>
  open: boolean
  onOpenChange: (open: boolean) => void
}

/** Asks for the name of a file or skill, and shows why a name is refused. */
export function NameForm(props: Props) {
  const { title, label, initial = '', placeholder, button, useful, onName, open, onOpenChange } = props
  const [name, setName] = useState(initial)
  const [problem, setProblem] = useState<string | null>(null)
  const problemId = useId()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const reason = await onName(name)
    setProblem(reason)
    if (reason !== null) return
    setName(initial)
    onOpenChange(false)
  }
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={title}>
      <form onSubmit={submit} className="space-y-3">
        <label className="block text-[13px]">
          <span className="mb-1 block text-fg-2">{label}</span>
          <Input
            mono
            value={name}
            onChange={event => {
              setName(event.target.value)
              setProblem(null)
            }}
            aria-invalid={problem !== null}
            aria-describedby={problem ? problemId : undefined}
            placeholder={placeholder}
          />
        </label>
        {problem && <ErrorText id={problemId}>{problem}</ErrorText>}
        <div className="flex justify-end">
          <Button type="submit" look="solid" disabled={name.trim() === '' || !useful(name)}>
            {button}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
