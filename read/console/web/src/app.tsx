export function App() {
  return (
    <main>
      <h1>Colonnade</h1>
    </main>
  );
}
