"""The stop words of the three languages of the application."""

from teaser.data.rules import STOP_WORDS


def test_each_language_has_its_articles_in_lower_case() -> None:
    articles = {"english": {"the", "a"}, "dutch": {"de", "het", "een"}, "french": {"le", "la"}}
    assert STOP_WORDS.keys() == articles.keys()
    for language, words in articles.items():
        assert words <= STOP_WORDS[language]
        assert all(word == word.lower() for word in STOP_WORDS[language])
