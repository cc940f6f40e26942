'use client'

import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { setNonce } from 'get-nonce'
import { ThemeProvider } from 'next-themes'
import { NuqsAdapter } from 'nuqs/adapters/next/app'
import { type ReactNode, useState } from 'react'
import { RequestRefused } from '#lib/client/request.ts'
import { StepUpProvider } from './step-up.tsx'

/** A refusal is an answer: only what got none is asked again. */
const isWorthAnotherTry = (failures: number, error: Error): boolean =>
  failures < 2 && error instanceof RequestRefused && ['unreachable', 'unavailable'].includes(error.problem.code)

export function Providers({ nonce, children }: { nonce: string; children: ReactNode }) {
  // The document's own, for as long as it lives: what a refresh brings is that of another answer, whose policy is not in force here.
  const [own] = useState(nonce)
  // For the style that keeps the page behind a dialog from scrolling.
  if (own !== '') setNonce(own)
  const [client] = useState(
    () => new QueryClient({ defaultOptions: { queries: { staleTime: 30_000, retry: isWorthAnotherTry } } }),
  )
  return (
    <ThemeProvider attribute="class" defaultTheme="system" enableSystem disableTransitionOnChange nonce={own}>
      <QueryClientProvider client={client}>
        <NuqsAdapter>
          <StepUpProvider>{children}</StepUpProvider>
        </NuqsAdapter>
      </QueryClientProvider>
    </ThemeProvider>
  )
}
