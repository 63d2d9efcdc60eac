/** Cached reads of what conversations and calls change. */
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import {
  type ChangedVersion,
  type ChangeSource,
  listChanges,
  listRehearsed,
  previewUndoLater,
  readChanged,
} from './endpoints'
import { keys } from './queries'

/** What a conversation changed, or one of its works; the previous list stays until the new one arrives. */
export const useChanges = (id: string, work: string | null) =>
  useQuery({
    queryKey: [...keys.changesOf(id), work],
    queryFn: () => listChanges(id, work),
    staleTime: 0,
    placeholderData: keepPreviousData,
  })
/** Milliseconds between two attempts to read what a call would change: after a restart it is found out again. */
const REHEARSAL_MS = 3000
/** What a rehearsed call would change; never served from the cache after the question. */
export const useRehearsed = (id: string, hash: string) =>
  useQuery({
    queryKey: ['rehearsed', id, hash],
    queryFn: () => listRehearsed(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    retry: false,
    refetchInterval: ({ state }) => (state.status === 'error' ? REHEARSAL_MS : false),
  })
/** A text of a changed file by its hash; null gives an empty text. */
export const useChangedText = (source: ChangeSource, version: ChangedVersion, hash: string | null) =>
  useQuery({
    queryKey: ['changed-text', source, version.path, version.side, hash],
    queryFn: () => (hash === null ? '' : readChanged(source, version)),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  })
/** Never served from the cache: a file may have changed. */
export const useUndoingLater = (id: string, work: string) =>
  useQuery({
    queryKey: ['undoing', id, work, 'later'],
    queryFn: () => previewUndoLater(id, work),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })
