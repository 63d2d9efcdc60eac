import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { addMcpServers, keepMcpServers } from '@/api/mcp'
import { Button } from '@/components/ui/Button'
import { Field } from '@/components/ui/Field'
import { TextArea } from '@/components/ui/Input'
import { useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { pasted } from './pasted'

/** Adds servers from the object that their READMEs show. Nothing starts by this. */
export function AddMcpServers({ onDone }: { onDone: () => void }) {
  const t = useT()
  const [text, setText] = useState('')
  const [unread, setUnread] = useState(false)
  const add = useMutation({
    mutationFn: addMcpServers,
    onSuccess: servers => {
      keepMcpServers(servers)
      onDone()
    },
    // Its variables may have keys.
    gcTime: 0,
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const entries = pasted(text)
    setUnread(entries === null)
    if (entries && !add.isPending) add.mutate(entries)
  }
  const problem = unread ? t('mcpNotJson') : add.error ? reasonOf(add.error) : null
  return (
    <form onSubmit={submit} noValidate className="space-y-3 rounded-lg border bg-card p-3 text-[13px]">
      <Field label={t('mcpPaste')} hint={t('mcpPasteHint')} error={problem}>
        {described => (
          <TextArea
            {...described}
            mono
            rows={7}
            spellCheck={false}
            value={text}
            placeholder={'{"mcpServers": {"time": {"command": "…", "args": []}}}'}
            onChange={event => setText(event.target.value)}
          />
        )}
      </Field>
      <div className="flex justify-end">
        <Button type="submit" look="solid" disabled={add.isPending || text.trim() === ''}>
          {t('mcpAddPasted')}
        </Button>
      </div>
    </form>
  )
}
