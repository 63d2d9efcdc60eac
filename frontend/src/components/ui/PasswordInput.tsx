import { Eye, EyeOff } from 'lucide-react'
import { type ComponentProps, useState } from 'react'
import { useT } from '@/lib/i18n'
import '@/lib/later'
import { IconButton } from './Button'
import { Input } from './Input'

/** A field for a password, which can be shown while it is typed. */
export function PasswordInput(props: Omit<ComponentProps<typeof Input>, 'type' | 'end' | 'icon'>) {
  const t = useT()
  const [shown, setShown] = useState(false)
  const Icon = shown ? EyeOff : Eye
  return (
    <Input
      {...props}
      type={shown ? 'text' : 'password'}
      spellCheck={false}
      autoCapitalize="none"
      autoCorrect="off"
      end={
        <IconButton
          size="smallIcon"
          label={t(shown ? 'passwordHide' : 'passwordShow')}
          onClick={() => setShown(!shown)}
        >
          <Icon size={15} aria-hidden />
        </IconButton>
      }
    />
  )
}
