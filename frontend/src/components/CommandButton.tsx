import type { ComponentProps } from 'react'
import type { CommandId } from '@/app/commands'
import { useCommand } from '@/app/useCommand'
import { Button, IconButton } from './ui/Button'

type Props = Omit<ComponentProps<typeof Button>, 'onClick'> & { command: CommandId }

/** A button that runs a command. It is disabled while the command is; its tooltip names the shortcut. */
export function CommandButton({ command, disabled, ...rest }: Props) {
  const { label, title, enabled, run } = useCommand(command)
  // Without a shortcut, the tooltip would repeat the text of the button.
  const hint = title === label ? undefined : title
  return <Button title={hint} disabled={disabled || !enabled} onClick={run} {...rest} />
}

type IconProps = Omit<ComponentProps<typeof IconButton>, 'onClick' | 'label'> & {
  command: CommandId
  /** The label, if the button has its own. */
  label?: string
}

/** The same with only an icon: the label is also the accessible name. */
export function CommandIconButton({ command, label, disabled, ...rest }: IconProps) {
  const { enabled, run, ...hint } = useCommand(command, label)
  return <IconButton {...hint} disabled={disabled || !enabled} onClick={run} {...rest} />
}
