import { type ComponentProps, useId } from 'react'
import { Input } from '@/components/ui/Input'
import { PasswordInput } from '@/components/ui/PasswordInput'
import type { FieldName } from './refusal'

type Props = Omit<ComponentProps<'input'>, 'size' | 'name' | 'type' | 'ref'> & {
  name: FieldName
  label: string
  hint?: string
  type?: 'text' | 'email' | 'password'
  /** The id of what says that it is to be corrected. */
  errorId: string | null
}

/** A labelled field of the sign-in. Its text stays in the field until the form is sent: a browser may fill it in late. */
export function SignInField({ label, hint, type = 'text', errorId, ...rest }: Props) {
  const id = useId()
  const hintId = hint && `${id}-hint`
  const described = [errorId, hintId].filter(Boolean).join(' ')
  const field = {
    ...rest,
    id,
    size: 'page' as const,
    'aria-invalid': errorId !== null,
    ...(described && { 'aria-describedby': described }),
  }
  return (
    <div className="text-[13px]">
      <label htmlFor={id} className="mb-1 block">
        {label}
      </label>
      {type === 'password' ? (
        <PasswordInput {...field} />
      ) : (
        <Input {...field} type={type} spellCheck={false} autoCapitalize="none" autoCorrect="off" />
      )}
      {hint && (
        <p id={hintId} className="mt-1 text-fg-3 text-small">
          {hint}
        </p>
      )}
    </div>
  )
}
