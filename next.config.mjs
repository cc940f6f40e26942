import createNextIntlPlugin from 'next-intl/plugin'

/** @type {import('next').NextConfig} */
const config = {
  // lib/http/console-pages.ts compresses pages.
  compress: false,
  poweredByHeader: false,
  reactStrictMode: true,
  // Always render title and robots metadata in the head instead of streaming them after it.
  htmlLimitedBots: /.*/,
  // Loaded from node_modules at run time: these packages locate their own files, or have state that must exist only once per process.
  serverExternalPackages: [
    'graphile-worker',
    'nodemailer',
    'pdfkit',
    'rate-limiter-flexible',
    '@redis/client',
    'neo4j-driver',
    '@aws-sdk/client-s3',
    '@google-cloud/storage',
    '@langchain/core',
    '@langchain/langgraph-checkpoint',
    '@langchain/langgraph-checkpoint-postgres',
  ],
  // Browsers ask for this name as well, whatever a page names as its icon.
  rewrites: async () => [{ source: '/favicon.ico', destination: '/icon.svg' }],
  // `npm run check` checks the types of all files, so a build does not have to.
  typescript: { ignoreBuildErrors: true },
  // i18n/compiled.ts parses the messages on the server.
  turbopack: { resolveAlias: { 'use-intl/format-message': 'use-intl/format-message/format-only' } },
  experimental: {
    // Sizes of sources in bytes. One large file has 8% fewer compressed bytes than twelve small ones.
    turbopackChunking: { requestCost: 1_000_000, minChunkSize: 400_000, maxMergeChunkSize: 10_000_000 },
    // An installation builds once for each version. Writing a cache for the next build (560 MB) takes a third of the processor time.
    turbopackFileSystemCacheForBuild: false,
    // Pages load at their first request. Loading all of them at the start takes 60 MB and half a second.
    preloadEntriesOnStart: false,
    // Enables `forbidden()`, with which a page responds with 403 to users without access.
    authInterrupts: true,
    // Without a connection, the router waits and retries. Otherwise it would leave the page, and typed text would be lost.
    useOffline: true,
  },
}

export default createNextIntlPlugin('./i18n/request.ts')(config)
