/** The sections of the settings, in order. */
import type { ComponentType } from 'react'
import { isMulti, mayConfigure } from '@/api/multi'
import { ShortcutList } from '@/app/ShortcutList'
import { McpServers } from '@/features/mcp/McpServers'
import { OwnProviders } from '@/features/providers/OwnProviders'
import { ProvidersSection } from '@/features/providers/ProvidersSection'
import { type Key, t } from '@/lib/i18n'
import { About } from './About'
import { Approvals } from './Approvals'
import { ConfigRows } from './ConfigRows'
import type { Part } from './config'
import { Data } from './Data'
import { General } from './General'
import { Memory } from './Memory'
import { Servers } from './Servers'
import { Skills } from './Skills'
import { ToolSwitches } from './ToolSwitches'
import { Tools } from './Tools'

export interface SettingsSection {
  id: string
  title: Key
  hint?: Key
  /** The hint for those who may not configure the server, if it is another one. */
  hintForOthers?: Key
  /** Its settings, by which a search finds it. */
  contains: readonly Key[]
  /** Its part of config.yml, by whose settings a search finds it too. */
  part?: Part
  /** It has settings of the server and nothing else. */
  ofServer?: true
  Content: ComponentType
}

const ALL: readonly SettingsSection[] = [
  {
    id: 'general',
    title: 'general',
    contains: [
      ...(['languages', 'theme', 'themeLight', 'themeDark', 'textSize', 'densityTitle'] as const),
      ...(['autosave', 'readAloud', 'solidPanes'] as const),
    ],
    Content: General,
  },
  {
    id: 'providers',
    title: 'providersTitle',
    hint: 'providersHint',
    contains: [
      'provider',
      'providerKey',
      'modelDefaultBadge',
      'modelFallbackBadge',
      'modelParameters',
      'parameterContextWindow',
    ],
    part: 'models',
    Content: () => (
      <div className="space-y-3">
        {isMulti() && <OwnProviders />}
        {mayConfigure() && (
          <>
            {isMulti() && <h4 className="pt-2 font-semibold text-[13px]">{t('providersForAll')}</h4>}
            <ProvidersSection />
            <ConfigRows part="models" />
          </>
        )}
      </div>
    ),
  },
  {
    id: 'agent',
    title: 'settingsAgent',
    contains: [],
    part: 'agent',
    ofServer: true,
    Content: () => <ConfigRows part="agent" />,
  },
  {
    id: 'approvals',
    title: 'settingsRules',
    hint: 'settingsRulesHint',
    hintForOthers: 'settingsRulesOfServer',
    contains: ['settingsApprovals', 'settingsToolRules'],
    part: 'approvals',
    Content: Approvals,
  },
  {
    id: 'search',
    title: 'settingsMemory',
    contains: ['rag', 'ragHint', 'playground'],
    part: 'search',
    Content: () => (
      <div className="space-y-3">
        <Memory />
        <ConfigRows part="search" />
      </div>
    ),
  },
  {
    id: 'tools',
    title: 'settingsTools',
    hint: 'settingsToolsHint',
    contains: [
      ...(['effectRead', 'effectWrite', 'effectExecute', 'effectNetwork'] as const),
      ...(['settingsToolSwitches', 'mcpServers', 'settingsSkills', 'untrusted'] as const),
    ],
    part: 'tools',
    Content: () => (
      <div className="space-y-4">
        <Tools />
        <ToolSwitches />
        <McpServers />
        <Skills />
      </div>
    ),
  },
  {
    id: 'network',
    title: 'settingsNetwork',
    contains: [],
    part: 'network',
    ofServer: true,
    Content: () => <ConfigRows part="network" />,
  },
  {
    id: 'server',
    title: 'settingsServer',
    contains: ['servers'],
    part: 'server',
    ofServer: true,
    Content: () => (
      <div className="space-y-4">
        <Servers />
        <ConfigRows part="server" />
      </div>
    ),
  },
  { id: 'keys', title: 'shortcuts', hint: 'keysHint', contains: [], Content: ShortcutList },
  {
    id: 'data',
    title: 'settingsData',
    contains: ['aboutHome', 'exportMd', 'exportJson', 'recovery', 'dataHome'],
    Content: Data,
  },
  {
    id: 'about',
    title: 'about',
    contains: ['aboutVersion', 'aboutSandbox', 'aboutCommands', 'signOut'],
    Content: About,
  },
]

/** The sections for somebody who may configure the server, or for everybody else. */
export const sections = (admin: boolean): readonly SettingsSection[] =>
  admin
    ? ALL
    : ALL.filter(({ ofServer }) => !ofServer).map(section =>
        section.hintForOthers ? { ...section, hint: section.hintForOthers } : section,
      )
