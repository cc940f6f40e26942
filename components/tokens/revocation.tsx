'use client'

import { useTranslations } from 'next-intl'
import { isolated } from '#components/agents/names.ts'
import { useChange } from '#components/frame/asking.ts'
import { Confirm } from '#components/ui/confirm.tsx'
import { revokeAt, type TokenRow, touched } from './tokens.ts'

export function Revocation({ token, onClose }: { token: TokenRow; onClose: () => void }) {
  const t = useTranslations('tokens.revocation')
  const revoke = useChange(revokeAt, { touches: touched })
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      title={t('title', { name: isolated(token.name ?? token.key_prefix) })}
      consequences={<p>{t('text')}</p>}
      action={t('action')}
      change={revoke}
      onConfirm={() => revoke.begin({ params: { id: token.id } }, onClose)}
    />
  )
}
