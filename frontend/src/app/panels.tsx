/** Every panel of the right pane. `pages.tsx` says which pages offer it. */
import type { ComponentType } from 'react'
import { onDemand } from '@/components/onDemand'
import { PanePending } from '@/components/PanePending'
import type { Key } from '@/lib/i18n'

export interface PanelProps {
  /** Leads back to the page's default panel; null if this is the default. */
  back: { words: string; run: () => void } | null
}

interface Panel {
  title: Key
  /** Label of the link back to this panel; null if no other panel appears beside the same page. */
  back: Key | null
  Panel: ComponentType<PanelProps>
}

const panels = {
  files: {
    title: 'inspector',
    back: null,
    Panel: onDemand<PanelProps>(() => import('@/features/inspector/Inspector'), PanePending),
  },
  chunks: {
    title: 'chunkPane',
    back: 'backToChunks',
    Panel: onDemand<PanelProps>(() => import('@/features/playground/ChunkPane'), PanePending),
  },
} as const satisfies Record<string, Panel>

export type PanelId = keyof typeof panels
export const PANELS: Readonly<Record<PanelId, Panel>> = panels
