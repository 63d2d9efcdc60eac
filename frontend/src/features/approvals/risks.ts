/** Why a pending call deserves a closer look, as far as the server says so. Nothing is guessed from a command. */
import {
  Database,
  FileWarning,
  Globe,
  KeyRound,
  type LucideIcon,
  ShieldAlert,
  ShieldOff,
  Trash2,
} from 'lucide-react'
import type { Approval } from '@/api/types'
import type { Key } from '@/lib/i18n'
import { isDeletion } from './kinds'

export interface Risk {
  word: Extract<Key, `risk${string}`>
  icon: LucideIcon
  /** `bad`: it can do harm that cannot be undone here, or may be what a stranger wants. */
  tone: 'warn' | 'bad'
}

export function risksOf(approval: Approval): Risk[] {
  const { shown, effect, because } = approval
  const all: (Risk | false)[] = [
    (shown.level === 'off' || because?.code === 'unfenced') && {
      word: 'riskNoSandbox',
      icon: ShieldOff,
      tone: 'bad',
    },
    (because?.code === 'outside' || because?.text_from != null) && {
      word: 'riskUntrusted',
      icon: ShieldAlert,
      tone: 'bad',
    },
    isDeletion(approval) && { word: 'riskDelete', icon: Trash2, tone: 'bad' },
    (shown.rehearsal?.deleted ?? 0) > 0 && { word: 'riskDeletes', icon: Trash2, tone: 'bad' },
    (shown.network || effect === 'network') && { word: 'riskNetwork', icon: Globe, tone: 'warn' },
    (shown.secrets?.length ?? 0) > 0 && { word: 'riskSecrets', icon: KeyRound, tone: 'bad' },
    (shown.reads?.length ?? 0) > 0 && { word: 'riskReads', icon: Database, tone: 'warn' },
    because?.code === 'runs_later' && { word: 'riskRunsLater', icon: ShieldOff, tone: 'bad' },
    because?.code === 'persona' && { word: 'riskPersona', icon: FileWarning, tone: 'warn' },
  ]
  return all.filter(risk => risk !== false)
}
