import { ShieldCheck } from 'lucide-react'
import { useState } from 'react'
import type { Chosen } from '@/api/types'
import { onDemand } from '@/components/onDemand'
import { Button } from '@/components/ui/Button'
import { Menu } from '@/components/ui/Menu'
import { cn } from '@/lib/cn'
import { useT } from '@/lib/i18n'
import { choiceOf, type PermissionMode, withMode } from './modes'

const ModeItems = onDemand(() => import('./ModeItems'))
const ServerItems = onDemand(() => import('@/features/mcp/ServerItems'))
const ConfirmSandboxed = onDemand(() => import('./ConfirmSandboxed'))

interface Props {
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
}

/** Chooses what may run in this conversation from its next message on, and which MCP servers it has. */
export function ModePicker({ chosen, onChoose }: Props) {
  const t = useT()
  const [confirming, setConfirming] = useState(false)
  const { mode, name } = choiceOf(chosen.permission_mode)
  const off = chosen.mcp_off?.length ?? 0
  const label = [t('modeChoose', { mode: t(name) }), off > 0 && t('mcpOff', { n: off })]
    .filter(Boolean)
    .join(', ')
  const choose = (next: PermissionMode | null) =>
    next === 'sandboxed' && mode !== next ? setConfirming(true) : onChoose(withMode(chosen, next))
  const trigger = (
    <Button
      size="small"
      look={mode || off > 0 ? 'soft' : 'ghost'}
      className="my-0.5 pointer-coarse:my-1"
      aria-label={label}
      title={label}
    >
      <ShieldCheck size={14} aria-hidden />
      <span className={cn(!mode && 'max-md:hidden')}>{t(name)}</span>
      {off > 0 && <span className="text-meta">{t('mcpOff', { n: off })}</span>}
    </Button>
  )
  return (
    <>
      <Menu trigger={trigger} align="start">
        <ModeItems mode={mode} onChoose={choose} />
        <ServerItems chosen={chosen} onChoose={onChoose} />
      </Menu>
      {confirming && (
        <ConfirmSandboxed
          onClose={() => setConfirming(false)}
          onConfirm={() => {
            setConfirming(false)
            onChoose(withMode(chosen, 'sandboxed'))
          }}
        />
      )}
    </>
  )
}
