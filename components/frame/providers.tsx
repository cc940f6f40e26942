'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { ThemeProvider } from 'next-themes'
import { type ReactNode, useState } from 'react'
import { ApprovalMode } from '#components/ui/approval-mode.tsx'
import { Toaster } from '#components/ui/toaster.tsx'
import { RequestRefused } from '#lib/client/request.ts'
import { StepUpProvider } from './step-up.tsx'

/** A refusal is final: retry only when there was no answer. */
const isWorthAnotherTry = (failures: number, error: Error): boolean =>
  failures < 2 && error instanceof RequestRefused && ['unreachable', 'unavailable'].includes(error.problem.code)

interface ProvidersProps {
  nonce: string
  isApprovalRequired: boolean
  children: ReactNode
}
export function Providers({ nonce, isApprovalRequired, children }: ProvidersProps) {
  // Keep the nonce of the loaded document. A refresh brings the nonce of another response, whose policy does not apply to this document.
  const [own] = useState(nonce)
  // For the style element that stops the page behind a dialog from scrolling.
  if (own !== '') setNonce(own)
  const [client] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: 30_000, retry: isWorthAnotherTry } } }),
  )
  return (
    <ThemeProvider attribute="class" defaultTheme="system" enableSystem disableTransitionOnChange nonce={own}>
      <QueryClientProvider client={client}>
        <StepUpProvider>
          <ApprovalMode isRequired={isApprovalRequired}>{children}</ApprovalMode>
        </StepUpProvider>
        <Toaster />
      </QueryClientProvider>
    </ThemeProvider>
  )
}
