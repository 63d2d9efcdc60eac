/** Every section of the settings, in order. */
import type { ComponentType } from 'react'
import { ShortcutList } from '@/app/ShortcutList'
import { ProvidersSection } from '@/features/providers/ProvidersSection'
import type { Key } from '@/lib/i18n'
import { About } from './About'
import { Approvals } from './Approvals'
import { Data } from './Data'
import { General } from './General'
import { Memory } from './Memory'
import { Tools } from './Tools'

export interface SettingsSection {
  id: string
  title: Key
  hint?: Key
  /** Its settings, by which a search finds it. */
  contains: readonly Key[]
  Content: ComponentType
}

export const SECTIONS: readonly SettingsSection[] = [
  {
    id: 'general',
    title: 'general',
    contains: ['languages', 'theme', 'themeLight', 'themeDark', 'autosave', 'readAloud', 'solidPanes'],
    Content: General,
  },
  {
    id: 'providers',
    title: 'providersTitle',
    hint: 'providersHint',
    contains: ['provider', 'providerKey', 'modelDefaultBadge', 'modelFallbackBadge', 'modelParameters'],
    Content: ProvidersSection,
  },
  {
    id: 'approvals',
    title: 'settingsApprovals',
    hint: 'settingsApprovalsHint',
    contains: [],
    Content: Approvals,
  },
  { id: 'search', title: 'settingsMemory', contains: ['rag', 'ragHint', 'playground'], Content: Memory },
  {
    id: 'tools',
    title: 'settingsTools',
    hint: 'settingsToolsHint',
    contains: ['effectRead', 'effectWrite', 'effectExecute', 'effectNetwork'],
    Content: Tools,
  },
  { id: 'keys', title: 'shortcuts', hint: 'keysHint', contains: [], Content: ShortcutList },
  {
    id: 'data',
    title: 'settingsData',
    contains: ['aboutHome', 'exportMd', 'exportJson', 'recovery', 'dataHome'],
    Content: Data,
  },
  { id: 'about', title: 'about', contains: ['aboutVersion', 'aboutSandbox', 'signOut'], Content: About },
]
