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
const ConfirmSandboxed = onDemand(() => import('./ConfirmSandboxed'))

interface Props {
  chosen: Chosen
  onChoose: (chosen: Chosen) => void
}

/** Chooses what may run in this conversation from its next message on. */
export function ModePicker({ chosen, onChoose }: Props) {
  const t = useT()
  const [confirming, setConfirming] = useState(false)
  const { mode, name } = choiceOf(chosen.permission_mode)
  const choose = (next: PermissionMode | null) =>
    next === 'sandboxed' && mode !== next ? setConfirming(true) : onChoose(withMode(chosen, next))
  const trigger = (
    <Button
      size="small"
      look={mode ? 'soft' : 'ghost'}
      className="my-0.5 pointer-coarse:my-1"
      aria-label={t('modeChoose', { mode: t(name) })}
      title={t('modeChoose', { mode: t(name) })}
    >
      <ShieldCheck size={14} aria-hidden />
      <span className={cn(!mode && 'max-md:hidden')}>{t(name)}</span>
    </Button>
  )
  return (
    <>
      <Menu trigger={trigger} align="start">
        <ModeItems mode={mode} onChoose={choose} />
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
