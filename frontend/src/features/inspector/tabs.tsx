/** Every tab of the inspector, in order. The editor is below all of them. */
import type { ComponentType } from 'react'
import type { Key } from '@/lib/i18n'
import { PROJECT_TAB, ROOT_TRAITS, ROOTS } from '@/lib/roots'
import { FolderTab } from './FolderTab'
import { ProjectTab } from './ProjectTab'

export interface InspectorTab {
  id: string
  label: Key
  Content: ComponentType
}

export const TABS: readonly InspectorTab[] = [
  ...ROOTS.filter(root => ROOT_TRAITS[root].tab).map(root => ({
    id: root,
    label: root,
    Content: () => <FolderTab root={root} />,
  })),
  { id: PROJECT_TAB, label: 'projectTab', Content: ProjectTab },
]
