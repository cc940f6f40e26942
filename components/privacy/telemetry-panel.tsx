'use client'

import { useTranslations } from 'next-intl'
import { useState } from 'react'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { setTelemetry } from '#lib/domains/accounts/contract.ts'

const setAt: Endpoint<typeof setTelemetry> = { method: 'put', path: '/api/privacy/telemetry' }

/** Turns usage events about the person and their agents on or off. */
export function TelemetryPanel({ initial }: { initial: boolean }) {
  const t = useTranslations('myPrivacy.telemetry')
  const [isOn, setIsOn] = useState(initial)
  const change = useApiMutation(setAt, { touches: ['/api/account'] })
  return (
    <div className="grid gap-4">
      <p aria-live="polite">{t(isOn ? 'on' : 'off')}</p>
      {change.problem && <ProblemAlert problem={change.problem} />}
      <Button
        tone="plain"
        className="justify-self-start"
        disabled={change.isPending}
        onClick={() => change.begin({ body: { enabled: !isOn } }, () => setIsOn(!isOn))}
      >
        {t(isOn ? 'turnOff' : 'turnOn')}
      </Button>
    </div>
  )
}
