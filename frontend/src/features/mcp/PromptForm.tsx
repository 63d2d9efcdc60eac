import { type FormEvent, useState } from 'react'
import type { McpPrompt } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Dialog } from '@/components/ui/Dialog'
import { Field } from '@/components/ui/Field'
import { Input } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import '@/lib/later'

interface Props {
  prompt: McpPrompt
  onClose: () => void
  onUse: (values: Record<string, string>) => void
}

/** The arguments of a prompt of an MCP server. */
export default function PromptForm({ prompt, onClose, onUse }: Props) {
  const t = useT()
  const [values, setValues] = useState<Record<string, string>>({})
  const [shown, setShown] = useState(false)
  const missing = (name: string) => (values[name] ?? '').trim() === ''
  const submit = (event: FormEvent) => {
    event.preventDefault()
    // The message box is a form around it, as far as React is concerned.
    event.stopPropagation()
    setShown(true)
    if (prompt.arguments.some(({ name, required }) => required && missing(name))) return
    onUse(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')))
  }
  return (
    <Dialog open onOpenChange={open => !open && onClose()} title={prompt.title}>
      <form noValidate onSubmit={submit} className="space-y-3">
        {prompt.arguments.map(({ name, description, required }) => (
          <Field
            key={name}
            label={name}
            hint={[description, !required && t('elicitOptional')].filter(Boolean).join(' · ')}
            error={shown && required && missing(name) ? t('elicitRequired') : null}
          >
            {described => (
              <Input
                {...described}
                aria-required={required}
                className="w-full"
                value={values[name] ?? ''}
                onChange={event => setValues({ ...values, [name]: event.target.value })}
              />
            )}
          </Field>
        ))}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button type="submit" look="solid">
            {t('mcpPromptUse')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
