'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { FormBox } from '#components/ui/form-box.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { grimoirePaths, storeKeyringAt } from './endpoints.ts'
import { useNewPassphrase } from './new-passphrase.tsx'
import { RecoveryCode } from './recovery-code.tsx'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import { VaultFault } from './vault-fault.tsx'
import type { Questions, VaultCode } from './vault-protocol.ts'

interface KeyringStartProps {
  agentId: string
  vault: OpenVault
  /** Receives the id of the new keyring before it is stored. */
  onMade: (keyId: string) => void
}
/** Creates the first keyring of an agent in the browser and stores it after the user confirms that the recovery code is saved. */
export function KeyringStart({ agentId, vault, onMade }: KeyringStartProps) {
  const t = useTranslations('agentGrimoire.start')
  const { fields, checked, clear } = useNewPassphrase()
  const [made, setMade] = useState<Questions['make']['gives']>()
  const [isMaking, setMaking] = useState(false)
  const [fault, setFault] = useState<VaultCode>()
  const [isKept, setKept] = useState(false)
  const store = useApiMutation(storeKeyringAt, { touches: grimoirePaths })

  const make = async () => {
    const passphrase = checked()
    if (passphrase === undefined || isMaking) return
    setFault(undefined)
    setMaking(true)
    try {
      const answer = await vault.ask('make', { passphrase })
      onMade(answer.keyring.key_id)
      setMade(answer)
      clear()
    } catch (error) {
      setFault(vaultCode(error))
    } finally {
      setMaking(false)
    }
  }
  const keep = (event: FormEvent) => {
    event.preventDefault()
    if (made && isKept && !store.isSuccess) store.begin({ params: { id: agentId }, body: { keyring: made.keyring } })
  }

  if (!made)
    return (
      <FormBox name="make-keyring" submit={t(isMaking ? 'making' : 'make')} isPending={isMaking} onSubmit={make}>
        <p className="text-quiet">{t('lead')}</p>
        {fault && <VaultFault code={fault} />}
        {fields}
        <p className="text-sm text-quiet">{t('lost')}</p>
      </FormBox>
    )
  return (
    <form
      method="post"
      onSubmit={keep}
      data-form="keep-code"
      className="grid max-w-[45rem] gap-4 rounded-box border border-line bg-raised p-4"
    >
      <p className="font-medium">{t('notStored')}</p>
      {store.problem && <ProblemAlert problem={store.problem} />}
      <RecoveryCode code={made.recoveryCode} agentId={agentId} isKept={isKept} onKept={setKept} />
      <Button
        type="submit"
        aria-disabled={!isKept || store.isPending || store.isSuccess}
        className="justify-self-start"
      >
        {t(store.isPending || store.isSuccess ? 'storing' : 'store')}
      </Button>
    </form>
  )
}
