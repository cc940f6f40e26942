'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { Alert } from '#components/ui/alert.tsx'
import { Button } from '#components/ui/button.tsx'
import { useLoaded } from '#components/ui/loaded.ts'
import type { StoredKeyring } from './endpoints.ts'
import type { OpenVault } from './use-vault.ts'

const dialogs = () => import('./keys-dialogs.tsx')

interface OpenBarProps {
  keyring: StoredKeyring
  vault: OpenVault
  /** Whether the keys may be rewrapped: not while writing is blocked for the agent. */
  isWritable: boolean
}
/** Shows that the grimoire is open, when it locks, and the actions for its keys. */
export function OpenBar({ keyring, vault, isWritable }: OpenBarProps) {
  const t = useTranslations('agentGrimoire.open')
  const [dialog, setDialog] = useState<'passphrase' | 'code'>()
  const loaded = useLoaded(dialogs, dialog !== undefined)
  const props = { keyring, vault, onClose: () => setDialog(undefined) }
  return (
    <div className="grid gap-3">
      <Alert tone="done" title={t('title')} isLive>
        <p>{t('text')}</p>
        {vault.openBy === 'code' && isWritable && <p className="font-medium">{t('byCode')}</p>}
      </Alert>
      <div className="flex flex-wrap gap-2">
        <Button tone="main" size="small" onClick={() => vault.lock()}>
          {t('lock')}
        </Button>
        {isWritable && (
          <>
            <Button tone="plain" size="small" onClick={() => setDialog('passphrase')}>
              {t('passphrase')}
            </Button>
            <Button tone="plain" size="small" onClick={() => setDialog('code')}>
              {t('code')}
            </Button>
          </>
        )}
      </div>
      {dialog === 'passphrase' && loaded && <loaded.PassphraseDialog {...props} />}
      {dialog === 'code' && loaded && <loaded.CodeDialog {...props} />}
    </div>
  )
}
