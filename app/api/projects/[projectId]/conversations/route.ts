import { app, route } from '#lib/app-instance.ts'

export const GET = route(app.projects.conversations)
export const POST = route(app.projects.createConversation)
