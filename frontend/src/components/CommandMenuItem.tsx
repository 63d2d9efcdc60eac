import type { ComponentProps } from 'react'
import type { CommandId } from '@/app/commands'
import { useKeys } from '@/app/hint'
import { useCommand } from '@/app/useCommand'
import { Kbd } from './ui/Kbd'
import { MenuItem } from './ui/Menu'

type Props = Omit<ComponentProps<typeof MenuItem>, 'onSelect' | 'children'> & {
  command: CommandId
  /** The label, if the item has its own. */
  label?: string
}

/** A menu item that runs a command, with its shortcut. It is absent while the command is disabled. */
export function CommandMenuItem({ command, label, ...rest }: Props) {
  const { label: words, enabled, run } = useCommand(command, label)
  const keys = useKeys(command)
  if (!enabled) return null
  return (
    <MenuItem {...rest} onSelect={run}>
      {words}
      {keys.length > 0 && (
        <span className="ms-auto ps-3">
          <Kbd>{keys.join(' ')}</Kbd>
        </span>
      )}
    </MenuItem>
  )
}
