/** The places that the tools of a conversation can work in. */
import type { Translate } from '@/lib/i18n'

/** The project whose folder is the one of commands. The server has no other yet. */
export const SCRATCH = 'scratch'

/** The project ids to choose from; null for the home. */
export const PLACES = [null, SCRATCH] as const

/** A project that this page does not know has its id as its name. */
export const placeName = (projectId: string | null, t: Translate): string =>
  projectId === null ? t('placeHome') : projectId === SCRATCH ? 'scratch/' : projectId
