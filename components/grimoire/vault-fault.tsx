'use client'

import { useTranslations } from 'next-intl'
import { Alert } from '#components/ui/alert.tsx'
import type { VaultCode } from './vault-protocol.ts'

/** Explains why a vault operation failed: what happened, what is still safe, and what to do. */
export function VaultFault({ code }: { code: VaultCode }) {
  const t = useTranslations('agentGrimoire.faults')
  return (
    <Alert tone={code === 'failed' ? 'warning' : 'danger'} title={t(`${code}.what`)} isLive>
      <p>{t(`${code}.do`)}</p>
    </Alert>
  )
}
