import { UserPlus } from 'lucide-react'
import { type FormEvent, useId, useRef, useState } from 'react'
import type { MemberRole } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { Input } from '@/components/ui/Input'
import { Select } from '@/components/ui/Select'
import { useT } from '@/lib/i18n'
import { ROLES } from './useMembership'

/** Invites somebody by their user name. */
export function InviteForm({ onInvite }: { onInvite: (name: string, role: MemberRole) => Promise<boolean> }) {
  const t = useT()
  const id = useId()
  const [name, setName] = useState('')
  const [role, setRole] = useState<MemberRole>('editor')
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const wanted = name.trim()
    if (wanted === '' || busy) return
    setBusy(true)
    if (await onInvite(wanted, role)) setName('')
    setBusy(false)
    field.current?.focus()
  }
  return (
    <form onSubmit={event => void submit(event)} className="flex flex-wrap items-end gap-2 text-[13px]">
      <div className="min-w-40 flex-1">
        <label htmlFor={id} className="mb-1 block font-medium">
          {t('memberName')}
        </label>
        <Input
          ref={field}
          id={id}
          name="member"
          size="medium"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={80}
          value={name}
          onChange={event => setName(event.target.value)}
        />
      </div>
      <div className="max-w-full">
        <label id={`${id}-role`} htmlFor={`${id}-choice`} className="mb-1 block font-medium">
          {t('memberRole')}
        </label>
        <Select
          id={`${id}-choice`}
          aria-labelledby={`${id}-role`}
          className="md:pointer-fine:h-8!"
          value={role}
          options={Object.entries(ROLES).map(([value, { means }]) => ({ value, words: t(means) }))}
          onChange={value => setRole(value as MemberRole)}
        />
      </div>
      <Button type="submit" disabled={name.trim() === '' || busy}>
        <UserPlus size={14} aria-hidden />
        {t('memberInvite')}
      </Button>
    </form>
  )
}
