import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.agents.listOwn)
export const POST = route(app.agents.createOwn)
