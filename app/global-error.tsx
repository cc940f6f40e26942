'use client'

import './globals.css'

/** Rendered when the root layout fails. Translations are then unavailable, so both languages are written here. */
export default function EverythingFailed({ error }: { error: Error & { digest?: string } }) {
  return (
    <html lang="en">
      <head>
        <title>KnowledgePulse</title>
      </head>
      <body className="font-sans">
        <main className="mx-auto grid max-w-md gap-4 px-4 py-12">
          <h1 className="text-title font-semibold">Something went wrong</h1>
          <p>Load the page again. If it persists, tell your admin.</p>
          <p lang="zh">出现错误。请重新加载；如果问题仍然存在，请联系管理员。</p>
          {error.digest && <p className="font-mono text-sm text-quiet">{error.digest}</p>}
          <p>
            <a href="/" className="text-accent underline">
              KnowledgePulse
            </a>
          </p>
        </main>
      </body>
    </html>
  )
}
