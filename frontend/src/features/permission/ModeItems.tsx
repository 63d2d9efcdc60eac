import { BookOpen, Box, CircleQuestionMark, ClipboardList, type LucideIcon, ShieldCheck } from 'lucide-react'
import { MenuItem } from '@/components/ui/Menu'
import { type Key, useT } from '@/lib/i18n'
import '@/lib/later'
import { CHOICES, type PermissionMode } from './modes'

const LOOKS: Record<PermissionMode | 'default', { icon: LucideIcon; hint: Key }> = {
  default: { icon: ShieldCheck, hint: 'modeDefaultHint' },
  read_only: { icon: BookOpen, hint: 'modeReadOnlyHint' },
  plan: { icon: ClipboardList, hint: 'modePlanHint' },
  ask: { icon: CircleQuestionMark, hint: 'modeAskHint' },
  sandboxed: { icon: Box, hint: 'modeSandboxedHint' },
}

interface Props {
  mode: PermissionMode | null
  onChoose: (mode: PermissionMode | null) => void
}

/** The modes to choose from, each with what it means. */
export default function ModeItems({ mode, onChoose }: Props) {
  const t = useT()
  return CHOICES.map(choice => {
    const { icon: Icon, hint } = LOOKS[choice.mode ?? 'default']
    return (
      <MenuItem
        key={choice.name}
        icon={<Icon size={14} aria-hidden className="shrink-0" />}
        checked={choice.mode === mode}
        onSelect={() => onChoose(choice.mode)}
      >
        <span>
          {t(choice.name)}
          <span className="block font-normal text-fg-3 text-meta">{t(hint)}</span>
        </span>
      </MenuItem>
    )
  })
}
