'use client'

import { useTranslations } from 'next-intl'
import { isolated } from '#components/agents/names.ts'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import { showToast } from '#components/ui/toast.ts'
import { type ListedTokenRow, revokeOwnTokenAt, tokenPaths } from './tokens.ts'

export function Revocation({ token, onClose }: { token: ListedTokenRow; onClose: () => void }) {
  const t = useTranslations('tokens.revocation')
  const revoke = useApiMutation(revokeOwnTokenAt, { touches: tokenPaths })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('title', { count: 1, name: isolated(token.name ?? token.key_prefix) })}
      consequences={<p>{t('text')}</p>}
      action={t('action', { count: 1 })}
      change={revoke}
      onConfirm={() =>
        revoke.begin({ params: { id: token.id } }, () => {
          showToast({ title: t('done') })
          onClose()
        })
      }
    />
  )
}
