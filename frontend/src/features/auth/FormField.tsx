import { type ComponentProps, useId } from 'react'
import { Input } from '@/components/ui/Input'
import { PasswordInput } from '@/components/ui/PasswordInput'

type Props = Omit<ComponentProps<typeof Input>, 'type' | 'end' | 'icon' | 'id'> & {
  label: string
  hint?: string
  type?: 'text' | 'email' | 'password'
  /** Whether the text was refused. */
  wrong?: boolean
  errorId: string
}

/** A labelled field of an account. */
export function FormField({ label, hint, type = 'text', wrong = false, errorId, ...rest }: Props) {
  const id = useId()
  const described = [wrong && errorId, hint && `${id}-hint`].filter(Boolean).join(' ')
  const field = {
    ...rest,
    id,
    'aria-invalid': wrong,
    ...(described && { 'aria-describedby': described }),
  }
  return (
    <div className="text-[13px]">
      <label htmlFor={id} className="mb-1 block font-medium">
        {label}
      </label>
      {type === 'password' ? (
        <PasswordInput {...field} />
      ) : (
        <Input spellCheck={false} {...field} type={type} />
      )}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-fg-3 text-small">
          {hint}
        </p>
      )}
    </div>
  )
}
