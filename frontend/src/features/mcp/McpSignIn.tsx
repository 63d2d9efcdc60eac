import { useMutation } from '@tanstack/react-query'
import { beginMcpSignIn, endMcpSignIn, keepMcpServers, listMcpServers } from '@/api/mcp'
import type { McpServer } from '@/api/types'
import { Button } from '@/components/ui/Button'
import { ErrorText } from '@/components/ui/ErrorText'
import { type Key, useT } from '@/lib/i18n'
import { reasonOf } from '@/lib/reason'
import { Json } from './Json'

const WORDS = {
  needed: 'mcpSignInNeeded',
  expired: 'mcpSignInExpired',
  more_scopes: 'mcpSignInMore',
  signed_in: 'mcpSignedIn',
} as const satisfies Record<string, Key>

/** Whether a person has signed in to a remote server, and how they do. They open the address themselves. */
export function McpSignIn({ server: { name, sign_in, signing_in } }: { server: McpServer }) {
  const t = useT()
  const begin = useMutation({
    mutationFn: () => beginMcpSignIn(name),
    onSuccess: async () => keepMcpServers(await listMcpServers()),
    // The address counts once.
    gcTime: 0,
  })
  const end = useMutation({ mutationFn: () => endMcpSignIn(name), onSuccess: keepMcpServers })
  const words = WORDS[sign_in as keyof typeof WORDS]
  const isSignedIn = sign_in === 'signed_in'
  const address = signing_in ? begin.data : undefined
  const problem = begin.error ?? end.error
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-2">
        <p className="text-fg-2">{words && t(words)}</p>
        {!isSignedIn && (
          <Button
            look={address ? 'soft' : 'solid'}
            size="small"
            disabled={begin.isPending}
            onClick={() => begin.mutate()}
          >
            {t('mcpSignIn')}
          </Button>
        )}
        {(isSignedIn || sign_in === 'more_scopes') && (
          <Button size="small" disabled={end.isPending} onClick={() => end.mutate()}>
            {t('mcpSignOut')}
          </Button>
        )}
      </div>
      {address && /^https?:/.test(address.authorization_url) && (
        <div className="space-y-2 rounded-md border p-2">
          <p className="text-fg-2 [overflow-wrap:anywhere]">{t('mcpSignInAt', { issuer: address.issuer })}</p>
          {address.scopes.length > 0 && (
            <p className="text-fg-2 [overflow-wrap:anywhere]">
              {t('mcpSignInScopes', { scopes: address.scopes.join(', ') })}
            </p>
          )}
          <Json label={t('mcpSignInAddress')} text={address.authorization_url} />
          <a
            href={address.authorization_url}
            target="_blank"
            rel="noopener noreferrer"
            className="text-accent underline-offset-2 hover:underline"
          >
            {t('mcpSignInOpen')}
          </a>
        </div>
      )}
      {problem && <ErrorText>{reasonOf(problem)}</ErrorText>}
    </div>
  )
}
