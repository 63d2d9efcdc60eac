import { type ComponentProps, useId } from 'react'
import { Input } from '@/components/ui/Input'
import { PasswordInput } from '@/components/ui/PasswordInput'

type Props = Omit<ComponentProps<typeof Input>, 'type' | 'end' | 'icon' | 'id'> & {
  label: string
  hint?: string
  type?: 'text' | 'email' | 'password'
  /** The id of what says that the text is to be corrected; null if it is not. */
  errorId: string | null
}

/** A labelled field of an account or of the sign-in. */
export function FormField({ label, hint, type = 'text', errorId, ...rest }: Props) {
  const id = useId()
  const described = [errorId, hint && `${id}-hint`].filter(Boolean).join(' ')
  const field = {
    ...rest,
    id,
    'aria-invalid': errorId !== null,
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
        <Input {...field} type={type} spellCheck={false} autoCapitalize="none" autoCorrect="off" />
      )}
      {hint && (
        <p id={`${id}-hint`} className="mt-1 text-fg-3 text-small">
          {hint}
        </p>
      )}
    </div>
  )
}
