/** Every panel that can stand in the right pane. `pages.tsx` says beside which page it does. */
import type { ComponentType } from 'react'
import { onDemand } from '@/components/onDemand'
import { PanePending } from '@/components/PanePending'
import type { Key } from '@/lib/i18n'

export interface PanelProps {
  /** Leads back to the panel that the page begins with; null where this is it. */
  back: { words: string; run: () => void } | null
}

interface Panel {
  title: Key
  /** The words of the way back to it; null where no other panel stands beside the same page. */
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
