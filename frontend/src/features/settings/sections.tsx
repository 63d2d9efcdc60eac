/** Every section of the settings, in order. */
import type { ComponentType } from 'react'
import type { Key } from '@/lib/i18n'
import { About } from './About'
import { Approvals } from './Approvals'
import { General } from './General'
import { Model } from './Model'

export interface SettingsSection {
  id: string
  title: Key
  hint?: Key
  Content: ComponentType
}

export const SECTIONS: readonly SettingsSection[] = [
  { id: 'general', title: 'general', Content: General },
  { id: 'model', title: 'model', Content: Model },
  { id: 'approvals', title: 'settingsApprovals', hint: 'settingsApprovalsHint', Content: Approvals },
  { id: 'about', title: 'about', Content: About },
]
