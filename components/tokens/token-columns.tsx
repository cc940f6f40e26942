import { Ellipsis } from 'lucide-react'
import { useNow, useTranslations } from 'next-intl'
import { agentPage } from '#components/agents/agents.ts'
import { Badge } from '#components/ui/badge.tsx'
import { Button } from '#components/ui/button.tsx'
import { Menu } from '#components/ui/menu.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import type { ShownColumn } from '#components/ui/table.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { Time } from '#components/ui/time.tsx'
import { TokenState } from './token-state.tsx'
import { isNearlyOver, type ListedTokenRow, lifeLeft, shownTokenState } from './tokens.ts'

export type TokenAction = 'rotate' | 'revoke'
type OpenAction = (what: TokenAction, token: ListedTokenRow) => void

function TokenMenu({ token, onAction }: { token: ListedTokenRow; onAction: OpenAction }) {
  const t = useTranslations('tokens')
  if (token.state !== 'active' && token.state !== 'rotated') return null
  return (
    <Menu
      trigger={
        <Button tone="ghost" size="icon" aria-label={t('actions', { name: token.name ?? token.key_prefix })}>
          <Ellipsis aria-hidden className="size-4.5" />
        </Button>
      }
      items={[
        ...(token.state === 'active'
          ? [{ key: 'rotate', label: t('rotate'), onSelect: () => onAction('rotate', token) }]
          : []),
        { key: 'revoke', label: t('revoke'), tone: 'danger' as const, onSelect: () => onAction('revoke', token) },
      ]}
    />
  )
}

function TokenName({ token }: { token: ListedTokenRow }) {
  const t = useTranslations('tokens')
  return (
    <div className="grid">
      <bdi>{token.name ?? t('unnamed')}</bdi>
      <code className="font-mono text-[0.8125rem] font-normal whitespace-nowrap text-quiet" title={t('prefix')}>
        {token.key_prefix}…
      </code>
    </div>
  )
}

function TokenExpiry({ token }: { token: ListedTokenRow }) {
  const t = useTranslations('tokens')
  const now = useNow()
  if (token.expires_at === null) return t('noEnd')
  return (
    <span className="inline-flex flex-wrap items-center gap-x-2">
      <Time at={token.expires_at} show="relative" />
      {token.revoked_at === null && isNearlyOver(lifeLeft(token, now)) && <Badge tone="warning">{t('soon')}</Badge>}
    </span>
  )
}

/** The columns of the token list. */
export function useTokenColumns(
  agentNamed: (id: string) => string,
  onAction: OpenAction,
): readonly ShownColumn<ListedTokenRow>[] {
  const t = useTranslations('tokens')
  const { list } = usePunctuation()
  return [
    {
      key: 'token',
      title: t('columns.token'),
      main: true,
      minWidth: 'medium',
      cell: (token) => <TokenName token={token} />,
      value: ({ name, key_prefix }) => name ?? key_prefix,
    },
    {
      key: 'agent',
      title: t('columns.agent'),
      cell: ({ agent_id }) => (
        <TextLink href={agentPage(agent_id)}>
          <bdi>{agentNamed(agent_id)}</bdi>
        </TextLink>
      ),
      value: ({ agent_id }) => agentNamed(agent_id),
    },
    {
      key: 'scopes',
      title: t('columns.scopes'),
      cell: ({ scopes }) => list(scopes.map((scope) => t(`scopes.${scope}`))),
      value: ({ scopes }) => list(scopes.map((scope) => t(`scopes.${scope}`))),
    },
    {
      key: 'state',
      title: t('columns.state'),
      cell: (token) => <TokenState token={token} />,
      value: ({ state, is_suspended }) => t(`states.${shownTokenState(state, is_suspended)}`),
    },
    {
      key: 'lastUsed',
      title: t('columns.lastUsed'),
      cell: ({ last_used_at }) => (last_used_at ? <Time at={last_used_at} show="relative" /> : t('never')),
      value: ({ last_used_at }) => last_used_at,
    },
    {
      key: 'expires',
      title: t('columns.expires'),
      cell: (token) => <TokenExpiry token={token} />,
      value: ({ expires_at }) => expires_at,
    },
    {
      key: 'actions',
      title: t('columns.actions'),
      isTitleHidden: true,
      cell: (token) => <TokenMenu token={token} onAction={onAction} />,
    },
  ]
}
