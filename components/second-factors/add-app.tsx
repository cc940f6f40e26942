'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useEffect, useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { issueOf } from '#components/frame/faults.ts'
import { Button } from '#components/ui/button.tsx'
import { CodeBlock } from '#components/ui/code-block.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { DialogFooter } from '#components/ui/dialog-footer.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { addTotpAt, confirmTotpAt, touchedByFactors } from './endpoints.ts'

/** The address as a QR code, drawn in the browser. */
function QrCode({ text, label }: { text: string; label: string }) {
  const [cells, setCells] = useState<boolean[][]>()
  useEffect(() => {
    let isGone = false
    void import('uqr').then(({ encode }) => !isGone && setCells(encode(text).data))
    return () => {
      isGone = true
    }
  }, [text])
  const size = cells?.length ?? 0
  const path = cells?.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <div className="size-48 justify-self-center rounded-box border border-line bg-white p-2">
      {path !== undefined && (
        <svg role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shapeRendering="crispEdges">
          <path d={path} fill="black" />
        </svg>
      )}
    </div>
  )
}

interface Started {
  factor_id: string
  secret?: string | undefined
  uri?: string | undefined
}

function ConfirmApp({ started, onDone }: { started: Started; onDone: (codes: string[] | undefined) => void }) {
  const t = useTranslations('secondFactors.app')
  const confirming = useApiMutation(confirmTotpAt, { touches: touchedByFactors })
  const isWrong = issueOf(confirming.problem, 'code') !== undefined
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const code = String(new FormData(event.currentTarget).get('code'))
    confirming.begin({ params: { id: started.factor_id }, body: { code } }, ({ data }) => onDone(data.recovery_codes))
  }
  return (
    <form onSubmit={submit} className="grid gap-5">
      {confirming.problem && !isWrong && <ProblemAlert problem={confirming.problem} />}
      <p className="text-quiet">{t('scan')}</p>
      {started.uri !== undefined && <QrCode text={started.uri} label={t('qr')} />}
      {started.secret !== undefined && <CodeBlock code={started.secret} what={t('secret')} />}
      <Field
        label={t('code')}
        name="code"
        inputMode="numeric"
        autoComplete="one-time-code"
        maxLength={20}
        minLength={6}
        error={isWrong ? t('wrong') : undefined}
        required
      />
      <DialogFooter>
        <Button type="submit" aria-disabled={confirming.isPending}>
          {t('confirm')}
        </Button>
      </DialogFooter>
    </form>
  )
}

/** Adds an authenticator app: name, QR code, first code. */
export function AddApp({ onCodes }: { onCodes: (codes: string[] | undefined) => void }) {
  const t = useTranslations('secondFactors.app')
  const [isOpen, setOpen] = useState(false)
  const [started, setStarted] = useState<Started>()
  const adding = useApiMutation(addTotpAt, { isQuiet: true })
  const close = () => {
    setOpen(false)
    setStarted(undefined)
    adding.reset()
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const name = String(new FormData(event.currentTarget).get('name'))
    adding.begin({ body: { name } }, ({ data }) => setStarted(data))
  }
  return (
    <>
      <Button tone="plain" onClick={() => setOpen(true)}>
        {t('add')}
      </Button>
      <Dialog open={isOpen} onOpenChange={(open) => (open ? setOpen(true) : close())} title={t('add')}>
        {started ? (
          <ConfirmApp
            started={started}
            onDone={(codes) => {
              close()
              onCodes(codes)
            }}
          />
        ) : (
          <form onSubmit={submit} className="grid gap-5">
            {adding.problem && <ProblemAlert problem={adding.problem} />}
            <Field label={t('name')} name="name" defaultValue={t('nameDefault')} maxLength={100} required />
            <DialogFooter>
              <Button type="submit" aria-disabled={adding.isPending}>
                {t('continue')}
              </Button>
            </DialogFooter>
          </form>
        )}
      </Dialog>
    </>
  )
}
