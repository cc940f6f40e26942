import { app } from '#lib/app-instance.ts'

export const GET = app.plainRoute(app.mcp.metadata)
